"""What can one privacy unit change?"""
